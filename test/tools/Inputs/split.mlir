func.func private @first()

// -----

func.func @second() -> f32 { return %y : f32 }

// -----
func.func private @third()

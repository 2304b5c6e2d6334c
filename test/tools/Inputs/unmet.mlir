func.func @unannounced() -> f32 {
  return %y : f32
}

// -----
func.func private @missing() // expected-error {{never comes}}

// -----
func.func private @warning() // expected-warning {{never comes}}

// -----
func.func @other_text() -> f32 {
  return %y : f32 // expected-error {{another text}}
}

// -----
func.func private @typo()   // expected-error {never comes}

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

// -----

// expected-eror {{misspelt}}
// expected-note@+1000 {{far below}}
// expected-note@-30 {{far above}}
// The expected-value of a thing is prose.

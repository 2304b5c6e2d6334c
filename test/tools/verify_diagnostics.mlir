// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @same_line() -> f32 {
  return %y : f32 // expected-error {{use of undeclared SSA value}}
}

// -----

func.func @offset() -> f32 {
  // expected-error@+1 {{use of undeclared SSA value}}
  return %y : f32
}

// -----

func.func @offset_back() -> f32 {
  return %y : f32
  // expected-error@-1 {{use of undeclared SSA value}}
}

// -----

// Announcements may pile up; a note has a place of its own.
// expected-note@below {{see existing symbol definition here}}
func.func private @twice()
// expected-error@below {{redefinition of symbol named 'twice'}}
func.func private @twice()

// -----

func.func @above() -> f32 {
  return %y : f32
  // expected-error@above {{use of undeclared SSA value}}
}

// -----

func.func @regex() -> f32 {
  // expected-error-re@+1 {{use of {{un[a-z]+}} SSA value{{( name)?}}}}
  return %y : f32
}

// -----

// expected-error@below {{unregistered operation 'relax.no_such_op'}}
"relax.no_such_op"() : () -> ()

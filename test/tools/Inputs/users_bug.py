"""A file that does not run to its end."""

import relax_mlir

relax_mlir.transform.nothing_of_the_kind

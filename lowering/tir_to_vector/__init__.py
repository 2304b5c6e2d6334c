"""From the tir dialect to loops, memory and vectors of the upstream dialects.

`lower_tir` is the pass. `plan` chooses how each nest is lowered: the packages hold the fast paths,
their modules called `pattern` match nests, those called `kernel` write the code. What all share is
here: `analysis` and `flat` read a nest, `emit` and `vector_nest` write one, `parallel_region`
divides it among threads, and `generic` lowers all other nests.
"""

"""Run-time values: arrays, tuples, numbers; bfloat16 and int4 through DLPack."""

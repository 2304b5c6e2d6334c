"""Reading Relax functions of TVMScript."""

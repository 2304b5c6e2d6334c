"""The program as people hold it: IRModule and the views on it."""

"""What each primitive does to a prim func: functions over the operations of a state."""

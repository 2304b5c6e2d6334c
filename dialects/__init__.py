"""What the IR is: the Relax, TIR and VM dialects. Imports nothing of the layers above."""

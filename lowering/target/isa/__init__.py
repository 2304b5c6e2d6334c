"""What instruction sets can do, a module for each; no other code names one to find that out."""

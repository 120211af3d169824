"""What is tested: architectures and constructs, declared once, found by discovery."""

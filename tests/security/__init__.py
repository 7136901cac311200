"""What SECURITY.md says is defended, tried from outside, one attack a test."""

"""The specifications of human approval, one package a family."""

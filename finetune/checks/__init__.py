"""What is wrong with data or a recipe, before anything is trained."""

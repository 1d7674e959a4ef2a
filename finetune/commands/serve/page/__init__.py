"""The page at `/`: one HTML file, which asks the server alone and runs its own script alone."""

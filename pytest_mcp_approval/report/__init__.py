"""What a run found, for people and for programs. Looks only down: at verdicts and the catalogue."""

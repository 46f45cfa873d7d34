"""A sweep: its plan, the trials it runs, how they are judged, and when it may stop."""

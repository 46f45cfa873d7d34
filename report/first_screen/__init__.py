"""The first screen of the page, which a notebook shows as well: one sentence, one figure, the arms, the warnings.

- `lines`: every comparison with its interval and verdict
- `studied`: what was run and how it is judged, below the title of the page
- `sentence`: the verdict in one sentence
- `location`: at which values of a hyperparameter its difference lies
- `arm_table`: the fractions and scores of each arm
- `endings`: how many runs finished, and what became of the others
- `scale`: where a value lies on the axis of the figure
- `screen`: all of it for the template `first_screen.html`
"""

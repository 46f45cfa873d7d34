"""How figures look: style, layout, axes, SVG, and the kinds of picture that several sections share.

Only this package imports matplotlib and seaborn, and only inside the functions that draw, so that analysing a study
loads neither.
"""

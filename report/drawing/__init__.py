"""How figures look: style, layout, SVG, and the kinds of picture that several sections share."""

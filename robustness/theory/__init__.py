"""Why mean-field posteriors fail, as studies: where their draws lie, and how noisy the gradients are that they give.

`robustness.theory.soap_bubble:train` and `robustness.theory.gradient_noise:train` are trainables that train nothing: a
trial draws from a posterior and measures what it drew.
"""

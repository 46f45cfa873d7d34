"""Why mean-field posteriors fail, as studies: where their draws lie, and how noisy the gradients are that they give.

The trainables `soap_bubble` and `gradient_noise` train nothing: a
trial draws from a posterior and measures what it drew.
"""

"""A method, a task, a trainable and a report section for `robustness`, in a package of their own."""

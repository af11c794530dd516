"""A path and a step -> the edited model, its rules, its record, and files of it."""

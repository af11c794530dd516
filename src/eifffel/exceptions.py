"""The errors and warnings that have a name of their own."""


class UnsupportedModelError(TypeError):
    """The model is of a class, or trained in a mode, whose leaves eifffel cannot edit."""


class ModelChangedError(ValueError):
    """The model's leaves are not those for which the path was traced."""


class ViewMismatchError(RuntimeError):
    """The decisions rebuilt from the leaves are not those of the model itself."""


class ConstraintNotMetWarning(UserWarning):
    """No step of the path meets the bound that was asked for."""


class PrivilegedGroupWarning(UserWarning):
    """The group given as privileged is not the one that the model favours."""

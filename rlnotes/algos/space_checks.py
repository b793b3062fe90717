"""Which worlds a policy can be made for. All others are refused with one sentence that
says what to do, before anything is trained."""

import numpy as np
from gymnasium import spaces

from rlnotes.errors import UserError

PICTURE_DIMENSIONS = 3  # channels, height, width


def obs_shape(space: spaces.Space, eye: bool) -> tuple[int, ...]:
    """The shape of the observations: a vector of numbers or, for an eye, a picture."""
    if not isinstance(space, spaces.Box):
        raise UserError(
            f"a policy takes vectors or pictures, not observations from {space}: make"
            " vectors of them with gymnasium.wrappers.FlattenObservation"
        )
    if eye:
        return _picture_shape(space)
    if space.dtype == np.uint8 and len(space.shape) > 1:
        raise UserError(
            f"observations of shape {space.shape} and type uint8 are pictures: give the"
            " policy an eye, eye=Eye()"
        )
    if len(space.shape) != 1:
        raise UserError(
            f"a policy takes vectors, not observations of shape {space.shape}: flatten"
            " them with gymnasium.wrappers.FlattenObservation"
        )
    return space.shape


def _picture_shape(space: spaces.Box) -> tuple[int, ...]:
    shape = space.shape
    if space.dtype != np.uint8 or len(shape) != PICTURE_DIMENSIONS:
        raise UserError(
            "an eye takes pictures of shape (channels, height, width) and type uint8,"
            f" not observations of shape {shape} and type {space.dtype}: convert them,"
            " or leave the eye out"
        )
    if shape[0] > shape[-1]:
        raise UserError(
            f"pictures of shape {shape} have their channels last: put them first with"
            " gymnasium.wrappers.TransformObservation and np.moveaxis(picture, -1, 0)"
        )
    return shape


def num_actions(space: spaces.Discrete) -> int:
    if space.start != 0:
        raise UserError(
            f"a policy numbers its actions from 0, but {space} starts at {space.start}:"
            " shift them with gymnasium.wrappers.TransformAction"
        )
    return int(space.n)


def action_bounds(space: spaces.Space) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest continuous actions."""
    if not isinstance(space, spaces.Box):
        raise UserError(
            f"a policy takes one discrete action or a vector of numbers, not {space}:"
            " translate its actions with gymnasium.wrappers.TransformAction"
        )
    if len(space.shape) != 1:
        raise UserError(
            f"a policy takes actions that are vectors, not of shape {space.shape}:"
            " flatten them with gymnasium.wrappers.TransformAction"
        )
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise UserError(
            f"a policy needs to know how far its actions go, and {space} has no bounds:"
            " give it some with gymnasium.wrappers.TransformAction"
        )
    if not (space.low < space.high).all():
        raise UserError(
            f"an action of {space} cannot move, its lowest value is its highest: leave"
            " it out with gymnasium.wrappers.TransformAction"
        )
    return space.low, space.high

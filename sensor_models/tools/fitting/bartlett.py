r"""How far intervals of sizes of noise must be stretched, as they rest on few independent values.

Twice the logarithm of the ratio of likelihoods has the χ² law of as many degrees of freedom as
parameters are asked for only in the limit of many data. Its mean is then 1 for one parameter, and

    1 + ε_p - ε_(p-1)

otherwise, which is also by what all its quantiles are larger, up to the square of ε (Bartlett,
1937). Lawley (1956) gives ε_p for p parameters in general. For the sizes of parts P_i of a
covariance C = Σ s_i² P_i all that it needs are traces of A_i = C⁻¹ P_i, and it becomes

    ε_p = 3 m_rs m_tu T_rstu - 8/3 m_rs m_tu m_vw t_rtv t_suw    (summed over all indices)
    m = (tr A_r A_s)⁻¹,   t_rst = tr A_r A_s A_t,   T_rstu = tr A_r A_s A_t A_u in their mean order

For one part of n values that is 1/(3n), as it is known to be. ε_(p-1) is that of all the other
parameters, the one that is asked for held.

Source: Lawley, Biometrika 43 (1956); Cordeiro and Cribari-Neto, An Introduction to Bartlett
Correction and Bias Reduction (2014), equation 2.19, of which this is the case of covariances.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sensor_models.tools.fitting.estimates import Floats


@dataclass(frozen=True)
class Traces:
    """Traces of products of two, three and four A_i; those of independent data add up."""

    two: Floats
    three: Floats
    four: Floats

    def __add__(self, other: "Traces") -> "Traces":
        return Traces(self.two + other.two, self.three + other.three, self.four + other.four)

    def without(self, place: int) -> "Traces":
        """Those of the other parameters."""
        kept = np.delete(np.arange(len(self.two)), place)

        def of_kept(traces: Floats) -> Floats:
            return np.asarray(traces[np.ix_(*[kept] * traces.ndim)])

        return Traces(of_kept(self.two), of_kept(self.three), of_kept(self.four))

    def excess(self) -> float:
        """ε_p of all parameters."""
        if not self.two.size:
            return 0.0
        m = np.linalg.inv(self.two)
        fourth = np.einsum("rs,tu,rstu", m, m, self.four)
        third = np.einsum("rs,tu,vw,rtv,suw", m, m, m, self.three, self.three)
        return float(3.0 * fourth - 8.0 / 3.0 * third)


def traces_of(matrices: Floats, ratios: Floats, counts: Floats) -> Traces:
    """Traces of a covariance that is dense in blocks and diagonal beyond them.

    Args:
        matrices: A_i made symmetric: for each part and block a matrix.
        ratios: A_i where they are diagonal: for each part and bin a number.
        counts: how many there are in a bin.
    """
    pairs = np.einsum("ahmn,bhnk->abhmk", matrices, matrices)
    two = np.einsum("abhmm->ab", pairs) + np.einsum("ak,bk,k->ab", ratios, ratios, counts)
    three = np.einsum("abhmk,chkm->abc", pairs, matrices)
    three += np.einsum("ak,bk,ck,k->abc", ratios, ratios, ratios, counts)
    four = np.einsum("abhmk,cdhkm->abcd", pairs, pairs)
    four += np.einsum("ak,bk,ck,dk,k->abcd", ratios, ratios, ratios, ratios, counts)
    orders = (four, four.transpose(0, 2, 1, 3), four.transpose(0, 1, 3, 2))
    return Traces(two, three, np.asarray(sum(orders)) / 3.0)


def stretches(independent: Sequence[Traces]) -> Floats:
    """For each parameter by what the quantile of χ² is to be multiplied, of independent data."""
    whole = independent[0]
    for other in independent[1:]:
        whole = whole + other
    excess = whole.excess()
    alone = [whole.without(place).excess() for place in range(len(whole.two))]
    return np.maximum(1.0 + excess - np.array(alone), 1.0)

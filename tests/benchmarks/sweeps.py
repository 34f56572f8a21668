"""Store the tables that the lessons read, or show the means of a few seeds: see
course.sweeps."""

from course import sweeps
from tests.benchmarks.count import count

if __name__ == "__main__":
    sweeps.main(count(sweeps.__doc__, "seeds", sweeps.SEEDS))

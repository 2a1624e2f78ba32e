"""What libraries beside CoeusLab have in common."""

from robot.libraries.BuiltIn import BuiltIn


class Beside:
    """A library of a suite that has a laboratory."""

    @property
    def coeus(self):
        return BuiltIn().get_library_instance("CoeusLab")

    @property
    def lab(self):
        return self.coeus.lab

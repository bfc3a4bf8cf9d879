# SPDX-License-Identifier: GPL-2.0
"""What pyproject.toml cannot say: the completions and the man page are made when they are installed."""

import os
import shutil

from setuptools import setup  # It brings distutils along.

from distutils.command.install_data import install_data

MAN = "../../../Documentation/tools/hist/hist.rst"


class InstallData(install_data):
    """Installs the completions by the names that shells look for, and the man page."""

    def run(self):
        build = os.path.join(self.get_finalized_command("build").build_base, "data")
        os.makedirs(build, exist_ok=True)
        shutil.copy("completion/hist.bash", os.path.join(build, "hist"))
        self.data_files = [
            ("share/bash-completion/completions", [os.path.join(build, "hist")]),
            ("share/zsh/site-functions", ["completion/_hist"]),
        ]
        page = os.path.join(build, "hist.1")
        if os.path.exists(MAN):
            from docutils.core import publish_file

            publish_file(source_path=MAN, destination_path=page, writer_name="manpage")
            self.data_files.append(("share/man/man1", [page]))
        else:
            self.warn(f"there is no {MAN}: the man page is left out")
        super().run()


# Something has to be in the list, or the command is not run.
setup(data_files=[("share", [])], cmdclass={"install_data": InstallData})

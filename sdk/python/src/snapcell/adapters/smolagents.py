"""smolagents: an executor for CodeAgent(executor=…); one session, whose variables are the agent's."""
from __future__ import annotations

from typing import Any, List, Optional

from smolagents.remote_executors import AgentError, CodeOutput, RemotePythonExecutor

from snapcell._sync import Session, Snapcell


class SnapcellExecutor(RemotePythonExecutor):
    """`options` as of Snapcell. Values travel as JSON, never as pickles. Packages cannot be installed in a cell without a
    network: those of its root or template are there."""

    def __init__(self, additional_imports: List[str], logger: Any, client: Optional[Snapcell] = None, timeout: float = 60, **options: Any) -> None:
        super().__init__(additional_imports, logger, allow_pickle=False)
        self._owns = client is None
        self._client = client or Snapcell(**options)
        self._timeout = timeout
        self._session: Session = self._client.session()
        self.installed_packages = list(additional_imports)

    def install_packages(self, additional_imports: List[str]) -> List[str]:
        """Looks which are there. One that is not fails where code imports it, and is told in the log."""
        modules = {name: "PIL" if name == "pillow" else name for name in additional_imports}
        missing = [name for name, module in modules.items()
                   if not self._session.run("import importlib; importlib.import_module(%r)" % module, timeout=self._timeout).ok]
        if missing:
            self.logger.log("not installed in the cell: %s" % ", ".join(missing))
        return [name for name in additional_imports if name not in missing]

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        result = self._session.run(code, timeout=self._timeout)
        info = result.error_info
        if info and info.name == self.FINAL_ANSWER_EXCEPTION:
            return CodeOutput(output=self._deserialize_final_answer(info.message), logs=result.stdout, is_final_answer=True)
        if not result.ok:
            told = info.traceback if info else result.message
            raise AgentError("%s\n%s" % (result.stdout, told), self.logger)
        return CodeOutput(output=result.text, logs=result.stdout, is_final_answer=False)

    def cleanup(self) -> None:
        self._session.end()
        if self._owns:
            self._client.close()

    delete = cleanup

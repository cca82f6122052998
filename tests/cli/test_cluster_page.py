"""The script and the manifest of docs/cluster.md are well formed: no test has a Slurm or a Kubernetes."""

import subprocess

import yaml

from tests.cli.test_pages import ROOT, blocks

SHOWN = {kind: text for _, kind, text in blocks(ROOT / "docs" / "cluster.md") if kind in ("bash", "yaml")}


def test_the_script_for_slurm_is_one_that_bash_reads() -> None:
    done = subprocess.run(["bash", "-n"], input=SHOWN["bash"], text=True, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_the_manifest_for_kuberay_has_a_head_that_judges_nothing_and_a_token() -> None:
    [manifest] = yaml.safe_load_all(SHOWN["yaml"])
    spec = manifest["spec"]
    [head], [worker] = (
        group["template"]["spec"]["containers"] for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"])
    )

    assert (manifest["apiVersion"], manifest["kind"]) == ("ray.io/v1", "RayCluster")
    assert spec["authOptions"] == {"mode": "token"}
    assert spec["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    assert head["image"] == worker["image"]
    assert worker["resources"]["limits"]["nvidia.com/gpu"] == "8"

"""Checks Kubernetes manifests from standard input against the schemas, the settings and the relay's requirements; then checks
that each check finds a fault.

usage: manifests.py INSTALLATION, in an environment with the packages of kubernetes.txt
"""

import copy
import json
import re
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path

import kubernetes_validate
import yaml
from cloudcoil.models.prometheus_operator.v1 import ServiceMonitor

# The oldest version that docs/operate/install.md supports, and the newest that the package contains.
VERSIONS = ("1.30", kubernetes_validate.latest_version())
SCHEMAS = files("kubernetes_validate") / f"kubernetes-json-schema/v{VERSIONS[1]}-local-strict"
CLOSING = 10  # seconds to close the database, as in deploy/relay.service
SECRETS = "/run/secrets/relay/"
KINDS = {
    "sqlite": {"StatefulSet"}, "postgres": {"Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget"},
}
COMMON = {"Namespace", "ServiceAccount", "ConfigMap", "Secret", "Service", "NetworkPolicy", "ServiceMonitor"}


def settings():
    """Returns the names of all settings, and those of the settings that are secrets."""
    rows = re.findall(r"^\| `(\w+)`(, `…_FILE`)? \|", Path("docs/reference/configuration.md").read_text(), re.MULTILINE)
    secret = {name for name, file in rows if file}
    return {name for name, _ in rows} | {f"{name}_FILE" for name in secret}, secret


@cache
def schema_faults(text):
    """Returns the schemas' complaints about a manifest's JSON."""
    return list(_schema_faults(json.loads(text)))


def _schema_faults(manifest):
    kind = f"{manifest['kind']} of {manifest['apiVersion']}"
    if manifest["kind"] == "ServiceMonitor":
        known = ServiceMonitor.model_validate(manifest).model_dump(mode="json", by_alias=True, exclude_unset=True)
        if known != manifest:
            yield f"{kind}: the schema knows only {known}"
        return
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(manifest, version, strict=True)
        except kubernetes_validate.SchemaNotFoundError:
            yield f"{kind}: Kubernetes {version} has no such API"
        except kubernetes_validate.ValidationError as error:
            yield f"{kind}: Kubernetes {version}: {error.message}"
    version = re.sub(r"^([^./]*)(?:\.[^/]*)?/", r"\1-", manifest["apiVersion"])
    schema = SCHEMAS / f"{manifest['kind'].lower()}-{version}.json"
    if schema.is_file() and "deprecated" in json.loads(schema.read_text()).get("description", "").lower():
        yield f"{kind} is deprecated"


def setting_faults(data):
    names, secret = settings()
    for name, value in data.items():
        if name not in names:
            yield f"there is no setting {name}"
        if name in secret or "PRIVATE KEY" in value or re.search(r"://[^/]*:[^/]*@", value):
            yield f"the ConfigMap has a secret, {name}"


def pod_faults(pod, container, data, secret):
    """Returns what is wrong with the pod beyond its schema."""
    grace, sleep = pod["terminationGracePeriodSeconds"], container["lifecycle"]["preStop"]["sleep"]["seconds"]
    deadline = int(re.fullmatch(r"(\d+)s", data["RELAY_SHUTDOWN_DEADLINE"]).group(1))
    mounted = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    probes = {name: (container[f"{name}Probe"]["httpGet"]["path"], container[f"{name}Probe"]["httpGet"]["port"])
              for name in ("startup", "liveness", "readiness")}
    inside, around = container["securityContext"], pod["securityContext"]
    yield from {
        "it stops before the relay has": grace >= sleep + deadline + CLOSING,
        "a probe asks the wrong thing": probes == {
            "startup": ("/health", "http"), "liveness": ("/health", "http"), "readiness": ("/ready", "http")},
        "it may be root": around.get("runAsNonRoot") and around.get("runAsUser"),
        "no seccomp profile": around.get("seccompProfile") == {"type": "RuntimeDefault"},
        "it may become root": inside.get("allowPrivilegeEscalation") is False and "privileged" not in inside,
        "it has capabilities": inside.get("capabilities") == {"drop": ["ALL"]},
        "its root is writable": inside.get("readOnlyRootFilesystem") is True,
        "it has the cluster's credentials": pod.get("automountServiceAccountToken") is False,
        "it has no memory limit, or requests nothing": "memory" in container["resources"]["limits"]
        and {"cpu", "memory"} <= container["resources"]["requests"].keys(),
        "its image has no tag": re.search(r":(?!latest$)[\w.-]+$", container["image"]),
        "secrets are in its environment": "env" not in container and all("secretRef" not in one for one in container["envFrom"]),
        "secrets aren't mounted": SECRETS.rstrip("/") in mounted and any(
            volume.get("secret", {}).get("secretName") == secret["metadata"]["name"] for volume in pod["volumes"]),
        "a file of a setting isn't among the secrets": all(
            value.removeprefix(SECRETS) in secret["data"] for name, value in data.items() if name.endswith("_FILE")),
    }.items()


def replica_faults(kinds):
    """Returns what is wrong with the number and placement of the relays."""
    spec = kinds["Deployment"]["spec"] if "Deployment" in kinds else {}
    if not spec:
        if kinds["StatefulSet"]["spec"]["replicas"] != 1:
            yield "several relays use one SQLite database"
        return
    pod, labels = spec["template"]["spec"], spec["template"]["metadata"]["labels"]
    scaler, budget = kinds["HorizontalPodAutoscaler"]["spec"], kinds["PodDisruptionBudget"]["spec"]
    if "replicas" in spec or scaler["minReplicas"] < 3 or budget["maxUnavailable"] != 1:
        yield "the number of relays"
    spread = {one["topologyKey"] for one in pod["topologySpreadConstraints"]
              if one["labelSelector"]["matchLabels"].items() <= labels.items()}
    if spread != {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}:
        yield "the relays aren't spread"


def reference_faults(manifests, workload, labels, configuration):
    """Returns the references to things that don't exist."""
    ports = {port["name"] for port in workload["spec"]["template"]["spec"]["containers"][0]["ports"]}
    name = (workload["kind"], workload["metadata"]["name"])
    services = [one for one in manifests if one["kind"] == "Service"]
    for one in manifests:
        spec, kind = one.get("spec", {}), one["kind"]
        if kind == "HorizontalPodAutoscaler" and (spec["scaleTargetRef"]["kind"], spec["scaleTargetRef"]["name"]) != name:
            yield "the autoscaler scales something else"
        selector = {"Service": spec.get("selector"), "NetworkPolicy": spec.get("podSelector", {}).get("matchLabels")}.get(
            kind, spec.get("selector", {}).get("matchLabels"))
        if kind == "ServiceMonitor":
            if not any(selector.items() <= service["metadata"]["labels"].items() and {end["port"] for end in spec["endpoints"]}
                       <= {port["name"] for port in service["spec"]["ports"]} for service in services):
                yield "the ServiceMonitor selects no service"
        elif selector is not None and not (selector and selector.items() <= labels.items()):
            yield f"{kind} {one['metadata']['name']} doesn't select the relay"
        if kind == "Service" and not {port["targetPort"] for port in spec["ports"]} <= ports:
            yield f"Service {one['metadata']['name']} has a port that the relay doesn't have"
    sources = workload["spec"]["template"]["spec"]["containers"][0]["envFrom"]
    if [one["configMapRef"]["name"] for one in sources] != [configuration["metadata"]["name"]]:
        yield "the settings aren't the ConfigMap's"


def faults(manifests, installation):
    found = [fault for manifest in manifests for fault in schema_faults(json.dumps(manifest))]
    kinds = {manifest["kind"]: manifest for manifest in manifests}
    if kinds.keys() != COMMON | KINDS[installation]:
        return [*found, f"it has {sorted(kinds)}"]
    workload = kinds.get("Deployment") or kinds["StatefulSet"]
    template, data = workload["spec"]["template"], kinds["ConfigMap"]["data"]
    pod = template["spec"]
    found += setting_faults(data)
    found += [what for what, is_well in pod_faults(pod, pod["containers"][0], data, kinds["Secret"]) if not is_well]
    found += replica_faults(kinds)
    found += reference_faults(manifests, workload, template["metadata"]["labels"], kinds["ConfigMap"])
    return found


def broken(installation):
    """Yields faults that a check must find: a manifest's kind, the path of a member, and its wrong value."""
    pod, container = "spec template spec ", "spec template spec containers 0 "
    return [
        ("workload", "spec replicas", 2),
        *([("HorizontalPodAutoscaler", "spec minReplicas", 1), ("PodDisruptionBudget", "spec maxUnavailable", 3),
           ("HorizontalPodAutoscaler", "spec scaleTargetRef name", "other"),
           ("HorizontalPodAutoscaler", "apiVersion", "autoscaling/v2beta2"),
           ("PodDisruptionBudget", "spec selector", {"matchLabels": {"app": "other"}}),
           ("workload", pod + "topologySpreadConstraints 0 labelSelector matchLabels", {"app": "other"})]
          if installation == "postgres" else []),
        ("Namespace", "apiVersion", "v2"), ("Service", "spec portz", []), ("ServiceMonitor", "spec jobLable", "x"),
        ("NetworkPolicy", "apiVersion", "extensions/v1beta1"), ("ConfigMap", "data RELAY_LOGLEVEL", "info"),
        ("ConfigMap", "data RELAY_SECRET_PEPPER", "x"), ("ConfigMap", "data HTTPS_PROXY_FILE", "http://a:b@c"),
        ("ConfigMap", "data RELAY_SHUTDOWN_DEADLINE", "20s"), ("ConfigMap", "metadata name", "other"),
        ("ConfigMap", "data APNS_PRIVATE_KEY_FILE", f"{SECRETS}key"), ("Secret", "metadata name", "other"),
        ("Service", "spec selector", {"app": "other"}), ("NetworkPolicy", "spec podSelector", {"matchLabels": {"app": "other"}}),
        ("ServiceMonitor", "spec selector", {"matchLabels": {"app": "other"}}),
        ("workload", container + "image", "apn-relay:latest"), ("workload", container + "image", "registry:5000/apn-relay"),
        ("workload", container + "env", [{"name": "A", "value": "b"}]),
        ("workload", container + "securityContext readOnlyRootFilesystem", False),
        ("workload", container + "securityContext allowPrivilegeEscalation", True),
        ("workload", container + "securityContext capabilities", {}), ("workload", container + "resources limits", {}),
        ("workload", container + "readinessProbe httpGet path", "/health"), ("workload", pod + "securityContext", {}),
        ("workload", pod + "terminationGracePeriodSeconds", 29), ("workload", pod + "automountServiceAccountToken", True),
    ]


def with_fault(manifests, kind, path, value):
    changed = copy.deepcopy(manifests)
    place = next(one for one in changed if one["kind"] in ({"Deployment", "StatefulSet"} if kind == "workload" else {kind}))
    *steps, last = (int(step) if step.isdigit() else step for step in path.split())
    for step in steps:
        place = place[step]
    place[last] = value
    return changed


def main():
    installation = sys.argv[1]
    manifests = list(yaml.safe_load_all(sys.stdin))
    if found := faults(manifests, installation):
        sys.exit(f"deploy/kubernetes/{installation}: " + "\n".join(found))
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "old"}}
    if not any("deprecated" in fault for fault in schema_faults(json.dumps(endpoints))):
        sys.exit("a deprecated kind is not found")
    for kind, path, value in broken(installation):
        if not faults(with_fault(manifests, kind, path, value), installation):
            sys.exit(f"{path} = {value} of {kind} is not found")
    print(f"{installation}: {len(manifests)} manifests, valid in Kubernetes {' and '.join(VERSIONS)}")


main()

// Package manifests checks the files in deploy with the code that reads them elsewhere: the types of the
// Kubernetes API, strictly, and the loader of docker compose. It needs no cluster and no network.
package manifests

import (
	"bytes"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

const deploy = "../../../deploy"

// objects are those of the manifests, by kind and name.
type objects map[string]meta.Object

// read adds the objects of a YAML text.
func (o objects) read(t *testing.T, from string, text []byte) {
	t.Helper()
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var head meta.TypeMeta
		if err := yaml.Unmarshal(doc, &head); err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		var into meta.Object
		switch head.APIVersion + " " + head.Kind {
		case "v1 Namespace":
			into = &core.Namespace{}
		case "v1 Secret":
			into = &core.Secret{}
		case "v1 PersistentVolumeClaim":
			into = &core.PersistentVolumeClaim{}
		case "v1 Service":
			into = &core.Service{}
		case "apps/v1 Deployment":
			into = &apps.Deployment{}
		case "policy/v1 PodDisruptionBudget":
			into = &policy.PodDisruptionBudget{}
		case "autoscaling/v2 HorizontalPodAutoscaler":
			into = &autoscaling.HorizontalPodAutoscaler{}
		default:
			t.Fatalf("%s: %s %s is not known here; add its type", from, head.APIVersion, head.Kind)
		}
		if err := yaml.UnmarshalStrict(doc, into); err != nil {
			t.Errorf("%s: %s: %v", from, head.Kind, err)
		}
		o[head.Kind+" "+into.GetName()] = into
	}
}

func TestKubernetes(t *testing.T) {
	var kustomization struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Namespace  string   `json:"namespace"`
		Resources  []string `json:"resources"`
		Images     []struct {
			Name    string `json:"name"`
			NewName string `json:"newName"`
			NewTag  string `json:"newTag"`
		} `json:"images"`
	}
	text := file(t, "kubernetes/kustomization.yaml")
	if err := yaml.UnmarshalStrict(text, &kustomization); err != nil {
		t.Fatal(err)
	}
	all := objects{}
	for _, name := range append(kustomization.Resources, "secret.example.yaml") {
		all.read(t, name, file(t, "kubernetes/"+name))
	}
	secret, ok := all["Secret openagent"].(*core.Secret)
	if !ok || secret.Namespace != kustomization.Namespace || all["Namespace "+kustomization.Namespace] == nil {
		t.Fatal("the secret or the namespace is missing")
	}
	for _, name := range []string{"worker", "front"} {
		d, ok := all["Deployment "+name].(*apps.Deployment)
		if !ok {
			t.Fatalf("no Deployment %s", name)
		}
		pod := d.Spec.Template.Spec
		if !maps.Equal(d.Spec.Selector.MatchLabels, d.Spec.Template.Labels) {
			t.Errorf("%s: the selector is not that of the pods", name)
		}
		volumes := map[string]bool{}
		for _, v := range pod.Volumes {
			volumes[v.Name] = true
			if v.Secret != nil {
				keys(t, name, secret, v.Secret.SecretName, v.Secret.Items...)
			}
			if claim := v.PersistentVolumeClaim; claim != nil && all["PersistentVolumeClaim "+claim.ClaimName] == nil {
				t.Errorf("%s: no claim %s", name, claim.ClaimName)
			}
		}
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			if !slices.ContainsFunc(kustomization.Images, func(i struct {
				Name    string `json:"name"`
				NewName string `json:"newName"`
				NewTag  string `json:"newTag"`
			}) bool {
				return i.Name == c.Image
			}) {
				t.Errorf("%s: image %s is not in kustomization.yaml", name, c.Image)
			}
			for _, m := range c.VolumeMounts {
				if !volumes[m.Name] {
					t.Errorf("%s: no volume %s", name, m.Name)
				}
			}
			for _, e := range c.Env {
				if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
					keys(t, name, secret, e.ValueFrom.SecretKeyRef.Name, core.KeyToPath{Key: e.ValueFrom.SecretKeyRef.Key})
				}
			}
			for _, p := range []*core.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
				switch {
				case p == nil:
				case p.HTTPGet != nil && !hasPort(c, p.HTTPGet.Port):
					t.Errorf("%s: no port %s for a probe", name, p.HTTPGet.Port.String())
				case p.Exec != nil:
					probe(t, p.Exec.Command, c.Args)
				}
			}
			if c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
				t.Errorf("%s: container %s has no bounds of memory", name, c.Name)
			}
		}
		if grace := graceOf(t, pod.Containers[0].Args); grace >= time.Duration(*pod.TerminationGracePeriodSeconds)*time.Second {
			t.Errorf("%s: Kubernetes kills it before its grace of %v is over", name, grace)
		}
	}
	worker := all["Deployment worker"].(*apps.Deployment)
	budget, ok := all["PodDisruptionBudget worker"].(*policy.PodDisruptionBudget)
	if !ok || !maps.Equal(budget.Spec.Selector.MatchLabels, worker.Spec.Template.Labels) {
		t.Error("the disruption budget is missing, or is not about the workers")
	}
	scaler, ok := all["HorizontalPodAutoscaler worker"].(*autoscaling.HorizontalPodAutoscaler)
	if !ok || scaler.Spec.ScaleTargetRef.Name != worker.Name || worker.Spec.Replicas != nil {
		t.Error("the scaler is missing, is not about the workers, or the workers have a number too")
	}
	front := all["Deployment front"].(*apps.Deployment)
	service, ok := all["Service front"].(*core.Service)
	if !ok || !maps.Equal(service.Spec.Selector, front.Spec.Template.Labels) || !hasPort(front.Spec.Template.Spec.Containers[0], service.Spec.Ports[0].TargetPort) {
		t.Error("the service is missing, or does not lead to the front")
	}

	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Log("kubectl is not here: kustomization.yaml is not built")
		return
	}
	built, err := exec.CommandContext(t.Context(), kubectl, "kustomize", filepath.Join(deploy, "kubernetes")).Output()
	if err != nil {
		t.Fatalf("kubectl kustomize: %v", err)
	}
	again := objects{}
	again.read(t, "kubectl kustomize", built)
	if len(again) != len(all)-1 { // without the secret
		t.Errorf("kubectl kustomize yields %v", slices.Sorted(maps.Keys(again)))
	}
}

// probe runs the command of a probe against a server that is well, and against one that is not.
func probe(t *testing.T, command, args []string) {
	t.Helper()
	address := args[slices.Index(args, "--health")+1]
	_, port, err := net.SplitHostPort(address)
	if err != nil || !strings.Contains(command[len(command)-1], "/dev/tcp/127.0.0.1/"+port+" ") {
		t.Fatalf("the probe %q does not ask %s", command, address)
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Log("the probe is not run:", err)
		return
	}
	for status, want := range map[int]bool{http.StatusOK: true, http.StatusServiceUnavailable: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" {
				status = http.StatusNotFound
			}
			w.WriteHeader(status)
		}))
		own := slices.Clone(command)
		own[len(own)-1] = strings.Replace(own[len(own)-1], "127.0.0.1/"+port, strings.Replace(server.Listener.Addr().String(), ":", "/", 1), 1)
		out, err := exec.CommandContext(t.Context(), own[0], own[1:]...).CombinedOutput()
		if (err == nil) != want {
			t.Errorf("the probe of a server that says %d: %v %s", status, err, out)
		}
		server.Close()
	}
}

// keys checks that a secret has what is asked of it.
func keys(t *testing.T, by string, secret *core.Secret, name string, items ...core.KeyToPath) {
	t.Helper()
	for _, i := range items {
		if name != secret.Name || secret.StringData[i.Key] == "" {
			t.Errorf("%s: secret %s has no %s in secret.example.yaml", by, name, i.Key)
		}
	}
}

// hasPort reports whether a container has a port of this name.
func hasPort(c core.Container, port intstr.IntOrString) bool {
	return slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool { return p.Name == port.StrVal })
}

// graceOf returns the time of --grace.
func graceOf(t *testing.T, args []string) time.Duration {
	t.Helper()
	i := slices.Index(args, "--grace")
	if i < 0 {
		t.Fatalf("no --grace in %q", args)
	}
	d, err := time.ParseDuration(args[i+1])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCompose(t *testing.T) {
	load := func(env ...string) (*cli.ProjectOptions, error) {
		return cli.NewProjectOptions([]string{filepath.Join(deploy, "compose.yaml")}, cli.WithEnv(env), cli.WithInterpolation(true), cli.WithConsistency(true), cli.WithResolvedPaths(true))
	}
	options, err := load("POSTGRES_PASSWORD=secret", "OWNER_PASSWORD=owned", "WORKER_PASSWORD=works", "ANTHROPIC_API_KEY=key")
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := project.ServiceNames(); !slices.Equal(got, []string{"database", "front", "tables", "worker"}) {
		t.Errorf("services: %v", got)
	}
	worker := project.Services["worker"]
	if worker.StopGracePeriod == nil || graceOf(t, worker.Command) >= time.Duration(*worker.StopGracePeriod) || *worker.Deploy.Replicas != 3 {
		t.Errorf("workers: killed after %v, %v of them", worker.StopGracePeriod, worker.Deploy)
	}
	if front := project.Services["front"]; worker.Environment["ANTHROPIC_API_KEY"] == nil || front.Environment["ANTHROPIC_API_KEY"] != nil || front.Environment["OPENAGENT_STORE"] == nil {
		t.Error("the workers need the key of the provider, and the front the database alone")
	}
	for name, password := range map[string]string{"worker": "works", "front": "works", "tables": "owned"} {
		env := project.Services[name].Environment
		if got := env["PGPASSWORD"]; got == nil || *got != password {
			t.Errorf("%s has another password than that of its role", name)
		}
		if owner := strings.Contains(*env["OPENAGENT_STORE"], "//openagent_owner@"); owner != (name == "tables") {
			t.Errorf("%s uses the store %s", name, *env["OPENAGENT_STORE"])
		}
	}
	if i := slices.Index(worker.Command, "--sandbox"); i < 0 || worker.Command[i+1] != "on" {
		t.Error("commands of agents run without the sandbox")
	}
	probe(t, worker.HealthCheck.Test[1:], worker.Command)
	if _, err := os.Stat(filepath.Join(worker.Build.Context, worker.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	options, err = load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := options.LoadProject(t.Context()); err == nil || !strings.Contains(err.Error(), "set POSTGRES_PASSWORD in .env") {
		t.Errorf("without a password: %v", err)
	}
	if public := regexp.MustCompile(`(?m)^ *- "(\d+:|0\.0\.0\.0)`).Find(file(t, "compose.yaml")); public != nil {
		t.Errorf("port %s is open to the network", public)
	}
}

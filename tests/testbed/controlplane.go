package testbed

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// startsWithin bounds the wait for one part. A start usually takes seconds, but CI machines can be
	// slow.
	startsWithin = 2 * time.Minute
	adminToken   = "testbed-admin"
)

// A waiter waits until a started part answers.
type waiter func(context.Context) error

// waitHTTP waits until a GET of the URL answers 200.
func waitHTTP(p *process, url string) waiter {
	return func(ctx context.Context) error {
		return p.ready(ctx, startsWithin, func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return err
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("GET %s: %s", url, resp.Status)
			}
			return nil
		})
	}
}

func (b *Bed) startEmulator() (waiter, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	p, err := b.spawn("emulator", nil, b.python, b.emulator, "--port", strconv.Itoa(port), "--exempt", SeederAccessKeyID)
	if err != nil {
		return nil, err
	}
	b.awsEndpoint = fmt.Sprintf("http://127.0.0.1:%d", port)
	return waitHTTP(p, b.awsEndpoint+"/_rollcall/health"), nil
}

func (b *Bed) startEtcd() (waiter, error) {
	client, err := FreePort()
	if err != nil {
		return nil, err
	}
	peer, err := FreePort()
	if err != nil {
		return nil, err
	}
	b.etcd = fmt.Sprintf("http://127.0.0.1:%d", client)
	peerURL := fmt.Sprintf("http://127.0.0.1:%d", peer)
	p, err := b.spawn("etcd", nil, b.binary("etcd"),
		"--data-dir="+filepath.Join(b.dir, "etcd"),
		"--listen-client-urls="+b.etcd, "--advertise-client-urls="+b.etcd,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL, "--initial-cluster=default="+peerURL,
		"--unsafe-no-fsync", // nothing of a bed outlives it
	)
	if err != nil {
		return nil, err
	}
	return waitHTTP(p, b.etcd+"/health"), nil
}

// startAPIServer starts the API server with a webhook for EKS tokens and one token for the bed itself.
func (b *Bed) startAPIServer() (waiter, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	if b.authenticatorPort, err = FreePort(); err != nil {
		return nil, err
	}
	certs := filepath.Join(b.dir, "apiserver")
	if err := b.ca.issueFiles("kubernetes.default.svc", certs); err != nil {
		return nil, err
	}
	serviceAccountKey := filepath.Join(b.dir, "service-account.pem")
	if err := writeKey(serviceAccountKey); err != nil {
		return nil, err
	}
	tokens := filepath.Join(b.dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(adminToken+",testbed-admin,testbed-admin,system:masters\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write the admin's token: %w", err)
	}
	b.apiServer = fmt.Sprintf("https://127.0.0.1:%d", port)
	if err := b.connect(); err != nil {
		return nil, err
	}
	webhook := filepath.Join(b.dir, "webhook.kubeconfig")
	authenticate := fmt.Sprintf("https://127.0.0.1:%d/authenticate", b.authenticatorPort)
	if err := b.writeKubeconfig(webhook, authenticate, ""); err != nil {
		return nil, err
	}
	audit, err := b.auditFlags()
	if err != nil {
		return nil, err
	}
	p, err := b.spawn("kube-apiserver", nil, b.binary("kube-apiserver"), append(audit,
		"--etcd-servers="+b.etcd,
		"--storage-media-type=application/json", // see age
		"--secure-port="+strconv.Itoa(port), "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // a loopback address is not a valid endpoint of the service "kubernetes"
		"--cert-dir="+certs,
		"--tls-cert-file="+filepath.Join(certs, "cert.pem"), "--tls-private-key-file="+filepath.Join(certs, "key.pem"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+serviceAccountKey, "--service-account-signing-key-file="+serviceAccountKey,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--disable-admission-plugins=ServiceAccount", // no controller creates the service accounts that pods would need
		"--token-auth-file="+tokens,
		"--authentication-token-webhook-config-file="+webhook,
		"--authentication-token-webhook-cache-ttl=1s", // the default of 2 minutes also remembers refusals
		"--authorization-mode=RBAC",
		"--allow-privileged",
	)...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return p.ready(ctx, startsWithin, func(ctx context.Context) error {
			_, err := b.kube.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
			return err
		})
	}, nil
}

// startControllers starts the only controller that the bed uses; nothing needs to wait for it.
func (b *Bed) startControllers() error {
	_, err := b.spawn("kube-controller-manager", nil, b.binary("kube-controller-manager"),
		"--kubeconfig="+b.Kubeconfig(),
		"--controllers=node-lifecycle-controller",
		"--node-monitor-grace-period="+cmp.Or(b.options.Grace, 10*time.Second).String(), "--node-monitor-period=2s",
		"--leader-elect=false", "--secure-port=0",
	)
	return err
}

// startAuthenticator starts the server that maps EKS tokens to users by the ConfigMap aws-auth.
func (b *Bed) startAuthenticator() (waiter, error) {
	state := filepath.Join(b.dir, "authenticator")
	if err := b.ca.issueFiles("aws-iam-authenticator", state); err != nil {
		return nil, err
	}
	roots := filepath.Join(b.dir, "ca.pem")
	if err := os.WriteFile(roots, b.ca.pem, 0o600); err != nil {
		return nil, fmt.Errorf("write the CA certificate: %w", err)
	}
	env := []string{
		"SSL_CERT_FILE=" + roots,
		"HTTPS_PROXY=" + b.proxy.url,
		"NO_PROXY=127.0.0.1",
		"AWS_REGION=" + Region,
		"AWS_EC2_METADATA_DISABLED=true",
	}
	p, err := b.spawn("aws-iam-authenticator", env, b.binary("aws-iam-authenticator"), "server",
		"--cluster-id="+ClusterName,
		"--backend-mode=EKSConfigMap",
		"--kubeconfig="+b.Kubeconfig(),
		"--kubeconfig-pregenerated", "--state-dir="+state,
		"--address=127.0.0.1", "--port="+strconv.Itoa(b.authenticatorPort),
	)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return p.ready(ctx, startsWithin, func(ctx context.Context) error {
			var d net.Dialer
			conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(b.authenticatorPort)))
			if err != nil {
				return err
			}
			return conn.Close()
		})
	}, nil
}

// connect makes the admin's client and kubeconfig.
func (b *Bed) connect() error {
	b.admin = &rest.Config{
		Host: b.apiServer, BearerToken: adminToken, TLSClientConfig: rest.TLSClientConfig{CAData: b.ca.pem},
		QPS: -1, // no client-side rate limit
	}
	kube, err := kubernetes.NewForConfig(b.admin)
	if err != nil {
		return fmt.Errorf("make the admin's Kubernetes client: %w", err)
	}
	b.kube = kube
	return b.writeKubeconfig(b.Kubeconfig(), b.apiServer, adminToken)
}

func (b *Bed) writeKubeconfig(path, server, token string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["testbed"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: b.ca.pem}
	config.AuthInfos["testbed"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["testbed"] = &clientcmdapi.Context{Cluster: "testbed", AuthInfo: "testbed"}
	config.CurrentContext = "testbed"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// writeKey writes a new private key as PEM.
func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key %s: %w", path, err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the key %s: %w", path, err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("write the key %s: %w", path, err)
	}
	return nil
}

// ApplyRBAC applies the manifests that [Options.RBAC] names, as [Start] does.
func (b *Bed) ApplyRBAC(ctx context.Context) error {
	if b.options.RBAC == "" {
		return nil
	}
	path := filepath.Join(b.options.Root, b.options.RBAC)
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the RBAC manifests: %w", err)
	}
	return b.Apply(ctx, string(data))
}

// Apply applies Kubernetes manifests, one or more YAML documents, as "kubectl apply --server-side" does.
func (b *Bed) Apply(ctx context.Context, manifests string) error {
	client, err := dynamic.NewForConfig(b.admin)
	if err != nil {
		return fmt.Errorf("make a dynamic Kubernetes client: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(b.kube.Discovery()))
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), 4096)
	for {
		var object unstructured.Unstructured
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("decode a manifest: %w", err)
		}
		if len(object.Object) == 0 {
			continue // an empty document, or one with only comments
		}
		subject := object.GetKind() + " " + object.GetName()
		mapping, err := mapper.RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
		if err != nil {
			return fmt.Errorf("find the resource of %s: %w", subject, err)
		}
		resource := client.Resource(mapping.Resource)
		var target dynamic.ResourceInterface = resource
		if namespace := object.GetNamespace(); namespace != "" {
			target = resource.Namespace(namespace)
		}
		_, err = target.Apply(ctx, object.GetName(), &object, metav1.ApplyOptions{FieldManager: "testbed", Force: true})
		if err != nil {
			return fmt.Errorf("apply %s: %w", subject, err)
		}
	}
}

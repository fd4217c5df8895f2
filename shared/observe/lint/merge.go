package lint

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/pelletier/go-toml/v2"

	"rollcall/shared/evidence/userdata"
	"rollcall/shared/roll"
)

// The families of AMIs, as far as their user data differs.
const (
	familyAL2          = "AL2"
	familyAL2023       = "AL2023"
	familyBottlerocket = "Bottlerocket"
	familyWindows      = "Windows"
	familyCustom       = "Custom"
)

// familyOf returns the family that the name of an AMI type, an amiFamily or an alias begins with. If
// it is not known, the user data shows it.
func familyOf(name, userData string) string {
	name = strings.ToLower(name)
	for _, family := range []string{familyAL2023, familyAL2, familyBottlerocket, familyWindows, familyCustom} {
		if strings.HasPrefix(name, strings.ToLower(family)) {
			return family
		}
	}
	if strings.HasPrefix(strings.TrimSpace(userData), "[") {
		return familyBottlerocket
	}
	return familyAL2023
}

// parameterFamily returns the family of AMIs that a public SSM parameter names in place of an AMI, ""
// for any other.
// https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
func parameterFamily(image string) string {
	switch {
	case strings.Contains(image, "/aws/service/bottlerocket/aws-k8s-"):
		return familyBottlerocket
	case !strings.Contains(image, "/aws/service/eks/optimized-ami/"):
		return ""
	case strings.Contains(image, "/amazon-linux-2023/"):
		return familyAL2023
	case strings.Contains(image, "/amazon-linux-2"):
		return familyAL2
	}
	return ""
}

// toolFamily returns the family of AMIs for which user data is written, "" if nothing shows it.
func toolFamily(boot userdata.Boot) string {
	families := map[userdata.Tool]string{userdata.BootstrapScript: familyAL2, userdata.Nodeadm: familyAL2023, userdata.BottlerocketSettings: familyBottlerocket}
	joined := roll.Map(boot.Joins, func(j userdata.Join) string { return families[j.Tool] })
	traced := roll.Map(boot.Traces, func(t userdata.Trace) string { return families[t.Tool] })
	return cmp.Or(append(joined, traced...)...)
}

// namesNoCluster reports whether settings are all that the user data has for joining, and no cluster:
// those of a managed node group without an AMI, or of an EC2NodeClass.
func namesNoCluster(boot userdata.Boot) bool {
	return len(boot.Joins) > 0 && !slices.ContainsFunc(boot.Joins, func(j userdata.Join) bool {
		return len(j.Missing) == 0 || cmp.Or(j.Cluster.State, j.Endpoint.State, j.CA.State) != userdata.Absent
	})
}

// merge adds to the user data what its owner adds: the settings by which the instance joins the
// cluster, and the taint with which it registers, "" for none.
// https://karpenter.sh/docs/concepts/nodeclasses/#specuserdata
func (l *launch) merge(family string, c *ekstypes.Cluster, taint string) {
	name, endpoint, ca := "unknown", "https://unknown.invalid", base64.StdEncoding.EncodeToString([]byte("unknown"))
	if c != nil {
		name, endpoint = aws.ToString(c.Name), aws.ToString(c.Endpoint)
	}
	if c != nil && c.CertificateAuthority != nil {
		ca = aws.ToString(c.CertificateAuthority.Data)
	}
	switch family {
	case familyCustom:
	case familyBottlerocket:
		l.userData = settings(l.userData, map[string]any{"cluster-name": name, "api-server": endpoint, "cluster-certificate": ca}, taint)
	case familyAL2:
		if taint != "" {
			taint = " --kubelet-extra-args '--register-with-taints=" + taint + "'"
		}
		l.userData = parts(l.userData, "text/x-shellscript", fmt.Sprintf("#!/bin/bash\n/etc/eks/bootstrap.sh '%s' --apiserver-endpoint '%s' --b64-cluster-ca '%s'%s\n", name, endpoint, ca, taint))
	case familyAL2023:
		l.userData = parts(l.userData, nodeConfigType, nodeConfig(name, endpoint, ca, taint))
	default:
		l.unknown = true
	}
}

const nodeConfigType = "application/node.eks.aws"

func nodeConfig(name, endpoint, ca, taint string) string {
	text := fmt.Sprintf("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: %q\n    apiServerEndpoint: %q\n    certificateAuthority: %q\n    cidr: 10.100.0.0/16\n", name, endpoint, ca)
	if key, effect, ok := strings.Cut(taint, ":"); ok {
		text += fmt.Sprintf("  kubelet:\n    config:\n      registerWithTaints:\n      - {key: %s, effect: %s}\n", key, effect)
	}
	return text
}

// parts returns user data with another part at its end.
func parts(own, kind, text string) string {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	fmt.Fprintf(&out, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=%q\n\n", w.Boundary())
	add := func(header textproto.MIMEHeader, text []byte) {
		if p, err := w.CreatePart(header); err == nil {
			_, _ = p.Write(text) // into memory
		}
	}
	if !eachPart(own, add) {
		return own // which its readers cannot read either
	}
	add(textproto.MIMEHeader{"Content-Type": {kind}}, []byte(text))
	_ = w.Close()
	return out.String()
}

// eachPart calls add for each part of user data. It returns false for a document that is not whole.
func eachPart(own string, add func(textproto.MIMEHeader, []byte)) bool {
	message, err := mail.ReadMessage(strings.NewReader(own))
	if err != nil || message.Header.Get("Content-Type") == "" {
		if strings.TrimSpace(own) != "" {
			add(textproto.MIMEHeader{"Content-Type": {contentType(own)}}, []byte(own))
		}
		return true
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return false
	}
	reader := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return false
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return false
		}
		add(part.Header, data)
	}
}

func contentType(text string) string {
	switch text = strings.TrimSpace(text); {
	case strings.HasPrefix(text, "#cloud-config"):
		return "text/cloud-config"
	case strings.Contains(text, "node.eks.aws/"):
		return nodeConfigType
	}
	return "text/x-shellscript"
}

// settings returns Bottlerocket's settings with those of the cluster. What does not parse stays as
// it is: Bottlerocket does not read it either.
func settings(own string, cluster map[string]any, taint string) string {
	all := map[string]any{}
	if toml.Unmarshal([]byte(own), &all) != nil {
		return own
	}
	kubernetes := table(table(all, "settings"), "kubernetes")
	maps.Copy(kubernetes, cluster)
	if key, effect, ok := strings.Cut(taint, ":"); ok {
		table(kubernetes, "node-taints")[key] = []string{"true:" + effect}
	}
	out, err := toml.Marshal(all)
	if err != nil {
		return own
	}
	return string(out)
}

// table returns the table of a name, which is made if there is none.
func table(in map[string]any, name string) map[string]any {
	t, ok := in[name].(map[string]any)
	if !ok {
		t = map[string]any{}
		in[name] = t
	}
	return t
}

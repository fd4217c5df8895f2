package userdata

import (
	"slices"
	"strings"

	"rollcall/shared/roll"
)

// bootstrapOptions are the options of bootstrapScript. Each takes the next word as its value,
// whatever it is. The first argument that is neither is the cluster's name. Some options are also
// taken from the environment, since the script sets their defaults with ${NAME:-...}
// (awslabs/amazon-eks-ami, templates/al2/runtime/bootstrap.sh).
var bootstrapOptions = map[string]string{
	"--apiserver-endpoint": "APISERVER_ENDPOINT", "--b64-cluster-ca": "B64_CLUSTER_CA", "--kubelet-extra-args": "KUBELET_EXTRA_ARGS",
	"--aws-api-retry-attempts": "", "--cluster-id": "", "--container-runtime": "", "--containerd-config-file": "",
	"--dns-cluster-ip": "", "--docker-config-json": "", "--enable-docker-bridge": "", "--enable-local-outpost": "",
	"--ip-family": "", "--local-disks": "", "--mount-bpf-fs": "", "--pause-container-account": "",
	"--pause-container-version": "", "--service-ipv4-cidr": "", "--service-ipv6-cidr": "", "--use-max-pods": "",
}

const extraArgs = "--kubelet-extra-args"

// bootstrapCall is a call of bootstrap.sh, its arguments sorted.
type bootstrapCall struct {
	options map[string]string
	names   []field // arguments that are neither an option nor an option's value
	loose   bool    // one of them may be any number of arguments, options among them
	// bare is a value of --kubelet-extra-args that is a flag without its value. The flag's value
	// follows as a separate argument, although it was meant to be part of it. strayed reports
	// whether the first name is that argument.
	bare    string
	strayed bool
}

// bootstrap adds a call of bootstrap.sh: as a Join by what the script reads from its arguments, as
// a cluster by what they mean. A call for help does nothing.
func (w *walk) bootstrap(args []field) {
	c, ok := w.bootstrapArgs(args)
	if !ok {
		return
	}
	for option, name := range bootstrapOptions {
		if w.exported[name] && c.options[option] == "" {
			c.options[option] = w.vars[name]
		}
	}
	extra := c.options[extraArgs]
	value, loss := environmentValue(extra)
	words := commandLineWords(value)
	for i := range words {
		words[i].quoted = words[i].quoted || strings.ContainsAny(words[i].text, `'"`)
	}
	j := Join{Tool: BootstrapScript, Part: w.part, Conditional: w.conditional}
	j.Cluster = w.bootstrapName(c)
	j.Endpoint = setting(c.options["--apiserver-endpoint"], validEndpoint)
	j.CA = CertificateOf(c.options["--b64-cluster-ca"])
	if j.Kubelet = newKubelet(words, w.part); c.loose {
		j.Kubelet.FlagsDynamic = true
		j.Endpoint, j.CA = Setting{State: Dynamic}.over(j.Endpoint), Setting{State: Dynamic}.over(j.CA)
	}
	j.Kubelet.Loss = loss
	j.needs("<cluster-name>", j.Cluster.State != Absent)
	w.join(j)
	w.meant(c)
}

// bootstrapArgs sorts arguments. ok is false if the script only prints its help.
func (w *walk) bootstrapArgs(args []field) (c bootstrapCall, ok bool) {
	c.options = map[string]string{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch _, option := bootstrapOptions[arg.text]; {
		case arg.text == "-h" || arg.text == "--help":
			return c, false
		case !option:
			c.strayed = c.strayed || len(c.names) == 0 && c.bare != ""
			c.loose = c.loose || arg.loose && i > 0
			c.names = append(c.names, arg)
		case i+1 == len(args):
			w.bootstrapFault(NoValue, arg.text, Fails)
		default:
			i++
			c.option(arg.text, args[i])
		}
	}
	return c, true
}

func (c *bootstrapCall) option(name string, value field) {
	c.options[name] = value.text
	if name != extraArgs { // the others are one word each, quoted or not
		return
	}
	c.loose = c.loose || value.loose
	flag := strings.TrimPrefix(value.text, "--")
	if strings.HasPrefix(value.text, "-") && !strings.ContainsAny(flag, "= \n\t"+unknown) && !slices.Contains(booleanFlags, flag) {
		c.bare = value.text
	}
}

func isOption(f field) bool { return strings.HasPrefix(f.text, "-") }

// bootstrapName returns the name that the script uses. It notes the faults of arguments that are
// not options.
func (w *walk) bootstrapName(c bootstrapCall) Setting {
	names := c.names
	switch i := slices.IndexFunc(names, isOption); {
	case c.strayed || c.bare != "" && len(names) > 1:
		w.bootstrapFault(FlagForValue, optionIn(c.bare), Fails)
	case i == 0:
		w.bootstrapFault(UnknownOption, optionIn(names[0].text), Fails)
	case i > 0:
		w.bootstrapFault(IgnoredArgument, optionIn(names[i].text), Skipped)
	}
	switch {
	case len(names) == 0:
		return Setting{}
	case c.strayed || isOption(names[0]):
		// What the script uses as the name is a flag's value, and may be a secret.
		return Setting{State: Malformed}
	}
	return setting(names[0].text, validName)
}

// meant adds the cluster that the call is meant for. bootstrap.sh fails on an option joined to its
// value, but the intent is clear.
func (w *walk) meant(c bootstrapCall) {
	strange := c.strayed
	for _, name := range c.names {
		switch {
		case isOption(name):
			strange = strange || !strings.Contains(name.text, "=")
			continue
		case strange: // it may be the value of that option, and a value may be a secret
			w.boot.Unclear = true
		default:
			w.cluster(name.text)
		}
		return
	}
	w.boot.Unclear = true
}

// optionIn returns the option that was meant, if it is one of bootstrap.sh or the kubelet.
func optionIn(text string) string {
	name, _, _ := strings.Cut(text, "=")
	if _, ok := bootstrapOptions[name]; ok || strings.HasPrefix(name, "--") && isKubeletFlag(name[2:]) {
		return name
	}
	return ""
}

func (w *walk) bootstrapFault(why Reason, field string, effect Effect) {
	w.fault(Fault{Part: w.part, Format: Shell, Reason: why, Field: field, By: ByBootstrap, Effect: effect})
}

// kubelet adds a kubelet that the user data starts directly.
func (w *walk) kubelet(args []field) {
	if len(args) == 1 && args[0].text == "--version" {
		return
	}
	words := roll.Map(args, func(a field) word { return word{text: a.text} })
	j := Join{Tool: KubeletCommand, Part: w.part, Conditional: w.conditional, Kubelet: newKubelet(words, w.part)}
	j.Kubelet.FlagsDynamic = j.Kubelet.FlagsDynamic || slices.ContainsFunc(args, func(f field) bool { return f.loose })
	w.join(j)
}

package userdata

import (
	"cmp"
	"slices"
	"strings"
)

// bootstrapJoin reads the arguments of bootstrap.sh as that script does: each
// option takes the next word, whatever it is, everything else is positional, and
// of those the first is the cluster's name
// (awslabs/amazon-eks-ami, templates/al2/runtime/bootstrap.sh).
func (s *shell) bootstrapJoin(args []field) {
	if s.r.full() {
		return
	}
	j := Join{Tool: BootstrapScript, Conditional: s.branch}
	j.Part = s.part
	given, ok := s.bootstrapArgs(args)
	if !ok {
		return
	}
	options := given.options
	s.bootstrapEnvironment(options)
	j.Cluster = s.bootstrapCluster(given)
	j.Endpoint = setting(options["--apiserver-endpoint"], validEndpoint)
	j.CA = CertificateOf(options["--b64-cluster-ca"])
	j.ServiceCIDR = setting(cmp.Or(options["--service-ipv6-cidr"], options["--service-ipv4-cidr"]), validCIDR)
	j.ClusterDNS = setting(options["--dns-cluster-ip"], validAddresses)
	j.IPFamily = setting(asciiLower(options["--ip-family"]), oneOf("ipv4", "ipv6"))
	j.Runtime = setting(options["--container-runtime"], oneOf("containerd", "dockerd", "nvidia-container-runtime"))
	j.UseMaxPods = setting(options["--use-max-pods"], validBool)
	extra := options["--kubelet-extra-args"]
	value, loss := environmentValue(extra)
	j.Kubelet = newKubelet(markQuoted(commandLineWords(value), extra), func(int) string { return s.part }, kubeletConfig{})
	j.Kubelet.Loss = loss
	j.Kubelet.FlagsDynamic = j.Kubelet.FlagsDynamic || given.loose
	if j.Cluster.State == Absent {
		j.Missing = []string{"<cluster-name>"}
	}
	s.r.join(j)
}

// bootstrapArguments are the arguments of bootstrap.sh, sorted.
type bootstrapArguments struct {
	options map[string]string
	names   []field // all that is no option and no option's value
	loose   bool    // one of them may be any number of arguments, options among them
	// bare is a value of --kubelet-extra-args that is a flag without its value, which
	// was meant to be part of it, and follows. strayed: the first name is what follows.
	bare    string
	strayed bool
}

// bootstrapArgs sorts arguments. ok is false where the script only prints its
// help.
func (s *shell) bootstrapArgs(args []field) (given bootstrapArguments, ok bool) {
	given.options = map[string]string{}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg.text == "-h" || arg.text == "--help":
			return given, false
		case !slices.Contains(bootstrapOptions, arg.text):
			given.strayed = given.strayed || len(given.names) == 0 && given.bare != ""
			given.loose = given.loose || arg.loose && i > 0
			given.names = append(given.names, arg)
		case i+1 == len(args):
			s.bootstrapFault(NoValue, arg.text, Fails)
		default:
			i++
			given.option(arg.text, args[i])
		}
	}
	return given, true
}

func (g *bootstrapArguments) option(name string, value field) {
	g.options[name] = value.text
	if name != "--kubelet-extra-args" { // the others are one word each, quoted or not
		return
	}
	g.loose = g.loose || value.loose
	flag := strings.TrimPrefix(value.text, "--")
	if strings.HasPrefix(value.text, "-") && !strings.ContainsAny(flag, "= \n\t"+unknown) && !slices.Contains(booleanFlags, flag) {
		g.bare = value.text
	}
}

// bootstrapCluster is the name that the script takes, and what is wrong with the
// arguments that are no options.
func (s *shell) bootstrapCluster(given bootstrapArguments) Setting {
	names := given.names
	if len(names) == 0 {
		return Setting{}
	}
	isOption := func(f field) bool { return strings.HasPrefix(f.text, "-") }
	if given.strayed || given.bare != "" && len(names) > 1 {
		s.bootstrapFault(FlagForValue, optionIn(given.bare), Fails)
	} else if isOption(names[0]) {
		s.bootstrapFault(UnknownOption, optionIn(names[0].text), Fails)
	} else if i := slices.IndexFunc(names, isOption); i >= 0 {
		s.bootstrapFault(IgnoredArgument, optionIn(names[i].text), Skipped)
	}
	switch {
	case given.strayed || isOption(names[0]):
		// What the script takes for the name is a flag's value, and may be a secret.
		return Setting{State: Malformed}
	case names[0].loose:
		return Setting{State: Dynamic}
	}
	return setting(names[0].text, validName)
}

// optionIn names the option that was meant, if it is one of bootstrap.sh or the
// kubelet.
func optionIn(text string) string {
	name, _, _ := strings.Cut(text, "=")
	if slices.Contains(bootstrapOptions, name) || strings.HasPrefix(name, "--") && isKubeletFlag(name[2:]) {
		return name
	}
	return ""
}

func (s *shell) bootstrapFault(why Reason, field string, effect Effect) {
	s.r.fault(Fault{Problem: Problem{s.part, Shell, why}, Field: field, By: ByBootstrap, Effect: effect})
}

// bootstrapVariables are the options that the script also takes from its
// environment, since it sets their defaults with ${NAME:-...}.
var bootstrapVariables = map[string]string{
	"--apiserver-endpoint": "APISERVER_ENDPOINT", "--b64-cluster-ca": "B64_CLUSTER_CA",
	"--container-runtime": "CONTAINER_RUNTIME", "--dns-cluster-ip": "DNS_CLUSTER_IP",
	"--ip-family": "IP_FAMILY", "--kubelet-extra-args": "KUBELET_EXTRA_ARGS",
	"--service-ipv4-cidr": "SERVICE_IPV4_CIDR", "--service-ipv6-cidr": "SERVICE_IPV6_CIDR",
	"--use-max-pods": "USE_MAX_PODS",
}

func (s *shell) bootstrapEnvironment(options map[string]string) {
	for option, name := range bootstrapVariables {
		if _, ok := options[option]; ok {
			continue
		}
		if value, ok := s.vars[name]; ok && (s.r.exported[name] || slices.Contains(s.given, name)) {
			options[option] = value
		}
	}
}

// kubelet is a kubelet that the user data starts by itself, with the words that
// the shell gives it.
func (s *shell) kubelet(args []field) {
	if s.r.full() {
		return
	}
	var words []word
	loose := false
	for _, a := range args {
		words = append(words, word{text: a.text})
		loose = loose || a.loose
	}
	if len(words) == 1 && words[0].text == "--version" {
		return
	}
	j := Join{Tool: KubeletCommand, Conditional: s.branch}
	j.Part = s.part
	j.Kubelet = newKubelet(words, func(int) string { return s.part }, kubeletConfig{})
	j.Kubelet.FlagsDynamic = j.Kubelet.FlagsDynamic || loose
	if f, ok := j.Kubelet.Flag("cluster-dns"); ok {
		j.ClusterDNS = setting(f.Value, validAddresses)
	}
	s.r.join(j)
}

package command

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const program = "rollcall"

// plugin reports whether kubectl started the program as its plugin, by a name such as
// kubectl-rollcall: https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/
func (e Environment) plugin() bool {
	return strings.HasPrefix(filepath.Base(e.Program), "kubectl-")
}

// asPlugin names the program in its usage texts as a person calls it: kubectl rollcall. It has no
// command completion then, since shells ask kubectl to complete the line.
func asPlugin(root *cobra.Command) {
	root.CompletionOptions.DisableDefaultCmd = true
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl " + program}
	var names []string
	for _, c := range root.Commands() {
		call := program + " " + c.Name()
		names = append(names, call, "kubectl "+call)
	}
	reword(root, strings.NewReplacer(names...))
}

// reword replaces names in the usage texts of a command and of those below it.
func reword(c *cobra.Command, names *strings.Replacer) {
	c.Long, c.Example = names.Replace(c.Long), names.Replace(c.Example)
	c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = names.Replace(f.Usage) })
	for _, below := range c.Commands() {
		reword(below, names)
	}
}

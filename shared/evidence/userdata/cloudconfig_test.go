package userdata

import "testing"

// Cloud-configs are merged, and run in the order of cloud-init's modules.
func TestBootOfCloudConfigs(t *testing.T) {
	const cc = "text/cloud-config"
	runs := func(command string) string { return "#cloud-config\nruncmd: [" + command + "]\n" }
	join, other := runs("/etc/eks/bootstrap.sh demo"), runs("date")
	file := func(path, content string) string {
		return "write_files: [{path: " + path + ", content: '" + content + "'}]\n"
	}
	call := "/etc/eks/bootstrap.sh demo"
	checkBoots(t, []bootCase{
		{name: "the last runcmd replaces the others", data: inMIME(cc, join, cc, other), want: `
				fault: runcmd in part 1 (cloud-config) is replaced by that of another part [cloud-init is passed over]`},
		{name: "the last one joins", data: inMIME(cc, other, cc, join), want: `
				fault: runcmd in part 1 (cloud-config) is replaced by that of another part [cloud-init is passed over]
				runcmd in part 2 by bootstrap.sh, cluster demo`},
		{name: "three of them, and in an archive", data: "#cloud-config-archive\n- {content: \"#cloud-config\\nruncmd: [date]\"}\n- {content: \"#cloud-config\\nruncmd: [" + call + "]\"}\n- {content: \"#cloud-config\\nruncmd: []\"}\n", want: `
				fault: runcmd in part 1 in user data (cloud-config) is replaced by that of another part [cloud-init is passed over]
				fault: runcmd in part 2 in user data (cloud-config) is replaced by that of another part [cloud-init is passed over]`},
		{name: "keys that the other has not", data: inMIME(cc, join, cc, "#cloud-config\npackages: [jq]\n"), want: `runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "commands of other modules", data: inMIME(cc, join, cc, "#cloud-config\nbootcmd: [date]\n"), want: `runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "the same again", data: inMIME(cc, join, cc, join), want: `runcmd in part 2 by bootstrap.sh, cluster demo`},
		{name: "an empty key", data: inMIME(cc, join, cc, "#cloud-config\nruncmd:\n"), want: `
				fault: runcmd in part 1 (cloud-config) is replaced by that of another part [cloud-init is passed over]`},
		{name: "lists that are appended", data: inMIME(cc, join, cc, other+"merge_how:\n- {name: list, settings: [append]}\n- {name: dict, settings: [no_replace, recurse_list]}\n"), want: `runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "the same in words", data: inMIME(cc, join, cc, other+"merge_type: 'list(append)+dict(recurse_array)+str()'\n"), want: `runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "the same in a header", data: inMIME(cc, join, cc+"\nMerge-Type: list(prepend)+dict(recurse_array)+str()", other), want: `runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "the same in a header of one's own", data: inMIME(cc, join, cc+"\nX-Merge-Type: list(append)+dict(no_replace, recurse_list)+str()", other), want: `runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "in the first part, which says nothing about the second", data: inMIME(cc, join+"merge_how: 'list(append)+dict(recurse_array)+str()'\n", cc, other), want: `
				fault: runcmd in part 1 (cloud-config) is replaced by that of another part [cloud-init is passed over]`},
		{name: "a merging that keeps the first", data: inMIME(cc, other, cc, join+"merge_how: 'dict()+list()+str()'\n"), want: `
				fault: runcmd in part 2 (cloud-config) is replaced by that of another part [cloud-init is passed over]`},
		{name: "a merging of lists alone, which merges no part", data: inMIME(cc, join+"merge_how: 'list(append)'\n"), want: `
				fault: runcmd in part 1 (cloud-config) is replaced by that of another part [cloud-init is passed over]`},
		{name: "a merging item by item", data: inMIME(cc, runs("date, "+call), cc, runs("uptime")+"merge_how: 'dict(recurse_list)+list()'\n"), want: `
				fault: runcmd in part 1 (cloud-config) is replaced by that of another part [cloud-init is passed over]
				runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "a merging that does not exist", data: inMIME(cc, join, cc, other+"merge_how: 'list[append]'\n"), want: `
				fault: part 2 (cloud-config) has a form that is not read [this reader not followed]
				runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "a part that does not parse replaces nothing", data: inMIME(cc, join, cc, "#cloud-config\nruncmd: [\n"), want: `
				fault: part 2, line 3 (cloud-config) does not parse [cloud-init stops with an error]
				runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "the files of another part replace those of the first", data: inMIME(cc, "#cloud-config\n"+file("/join.sh", call)+"runcmd: [/join.sh]\n", cc, "#cloud-config\n"+file("/etc/motd", "hi")), want: `
				fault: write_files in part 1 (cloud-config) is replaced by that of another part [cloud-init is passed over]`},
		{name: "files and commands in two parts", data: inMIME(cc, runs("bash /join.sh"), cc, "#cloud-config\n"+file("/join.sh", call)), want: `runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "more than one document", data: "#cloud-config\nruncmd: [" + call + "]\n---\npackages: [jq]\n", want: `
				fault: user data, line 4 (cloud-config) has more than one YAML document, of which cloud-init reads none [cloud-init stops with an error]
				runcmd in user data by bootstrap.sh, cluster demo`},
		{name: "the second one is empty, in a part that replaces nothing", data: inMIME(cc, join, cc, other+"---\n"), want: `
				fault: part 2, line 4 (cloud-config) has more than one YAML document, of which cloud-init reads none [cloud-init stops with an error]
				runcmd in part 1 by bootstrap.sh, cluster demo`},
		{name: "the second one joins", data: "#cloud-config\n---\npackages: [jq]\n---\nruncmd: [" + call + "]\n", want: `
				fault: user data, line 5 (cloud-config) has more than one YAML document, of which cloud-init reads none [cloud-init stops with an error]`},
		{name: "one document with its marks", data: "#cloud-config\n---\nruncmd: [" + call + "]\n...\n# the end\n", want: `runcmd in user data by bootstrap.sh, cluster demo`},
		{name: "an archive of more than one document", data: "#cloud-config-archive\n- \"#!/bin/sh\\n" + call + "\"\n---\n[]\n", want: `
				fault: user data, line 4 (cloud-config-archive) has more than one YAML document, of which cloud-init reads none [cloud-init stops with an error]
				part 1 in user data by bootstrap.sh, cluster demo`},
		{name: "a patch, which is not followed", data: inMIME("text/cloud-config-jsonp", "#cloud-config-jsonp\n[{\"op\": \"add\", \"path\": \"/runcmd\", \"value\": [\""+call+"\"]}]\n"), want: `
				fault: part 1 (cloud-config) has a form that is not read [this reader not followed]`},

		{name: "a command that YAML reads as a mapping", data: "#cloud-config\nruncmd:\n- " + call + "\n- echo done: yes\n", want: `
				fault: runcmd in user data (cloud-config) is not a list of strings and lists, so cloud-init runs none of it [cloud-init is passed over]`},
		{name: "a number and a truth value", data: inMIME(cc, "#cloud-config\nbootcmd: [5, "+call+"]\n", cc, "#cloud-config\nruncmd: [true, "+call+"]\n"), want: `
				fault: bootcmd in part 1 (cloud-config) is not a list of strings and lists, so cloud-init runs none of it [cloud-init is passed over]
				fault: runcmd in part 2 (cloud-config) is not a list of strings and lists, so cloud-init runs none of it [cloud-init is passed over]`},
		{name: "a text in place of the list", data: "#cloud-config\nruncmd: |\n  " + call + "\n", want: `
				fault: runcmd in user data (cloud-config) is not a list of strings and lists, so cloud-init runs none of it [cloud-init is passed over]`},
		{name: "an entry of another part, which is appended", data: inMIME(cc, join, cc, "#cloud-config\nruncmd: [{a: b}]\nmerge_how: 'list(append)+dict(recurse_array)+str()'\n"), want: `
				fault: runcmd in part 1 (cloud-config) is not a list of strings and lists, so cloud-init runs none of it [cloud-init is passed over]
				fault: runcmd in part 2 (cloud-config) is not a list of strings and lists, so cloud-init runs none of it [cloud-init is passed over]`},
		{name: "an entry without a value, numbers within a list, and a bootcmd that fails", data: "#cloud-config\nbootcmd: [a: b]\nruncmd:\n-\n- [sleep, 5, true]\n- " + call + "\n", want: `
				fault: bootcmd in user data (cloud-config) is not a list of strings and lists, so cloud-init runs none of it [cloud-init is passed over]
				runcmd in user data by bootstrap.sh, cluster demo`},
		{name: "bootcmd runs before write_files", data: "#cloud-config\n" + file("/x.sh", call) + "bootcmd: [/x.sh]\n", want: `
				fault: write_files 1 in user data (shell) is run before it is written [the shell stops with an error]`},
		{name: "by a shell, and in every other way", data: "#cloud-config\n" + file("/x.sh", call) + "bootcmd: [bash -x /x.sh, . /x.sh, cloud-init-per once join /x.sh]\n", want: `
				fault: write_files 1 in user data (shell) is run before it is written [the shell stops with an error]`},
		{name: "a boothook, too", data: inMIME("text/cloud-boothook", "#!/bin/sh\n/x.sh\n", cc, "#cloud-config\n"+file("/x.sh", call)), want: `
				fault: write_files 1 in part 2 (shell) is run before it is written [the shell stops with an error]`},
		{name: "runcmd runs after it, also if it is deferred", data: "#cloud-config\nwrite_files: [{path: /x.sh, defer: true, content: " + call + "}]\nbootcmd: [date]\nruncmd: [/x.sh]\n", want: `runcmd in user data by bootstrap.sh, cluster demo`},
		{name: "bootcmd that tests for it", data: "#cloud-config\n" + file("/x.sh", call) + "bootcmd: ['test -x /x.sh && /x.sh']\n"},
		{name: "what bootcmd writes itself", data: "#cloud-config\nbootcmd: [\"echo " + call + " > /x.sh\", bash /x.sh]\n", want: `bootcmd in user data by bootstrap.sh, cluster demo`},
		{name: "what bootcmd writes for runcmd", data: "#cloud-config\nruncmd: [bash /x.sh]\nbootcmd: [\"echo " + call + " > /x.sh\"]\n", want: `runcmd in user data by bootstrap.sh, cluster demo`},
		{name: "what bootcmd writes, and write_files writes anew", data: "#cloud-config\nruncmd: [bash /x.sh]\nbootcmd: [\"echo " + call + " > /x.sh\"]\n" + file("/x.sh", "date")},
	})
}

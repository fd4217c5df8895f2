package userdata

import (
	"strings"
	"testing"

	"rollcall/tests/harness/expect"
)

// A tool that is named in a form that is not followed may join: the answer is open. One that a text
// only mentions does not.
func TestFormsInWhichAScriptNamesATool(t *testing.T) {
	const follows, open, mentions = "demo", "unclear", ""
	for want, scripts := range map[string][]string{
		follows: {
			"cd /etc/eks && ./bootstrap.sh demo",
			"cd /etc/eks\n./bootstrap.sh demo",
			"cd -P /etc && cd eks || exit 1\nbash -x bootstrap.sh demo",
			"mkdir -p /x && cd /etc/eks && sudo ./bootstrap.sh demo",
			"pushd /etc/eks; ./bootstrap.sh demo; popd",
			"(cd /etc/eks && ./bootstrap.sh demo)",
			"D=/etc/eks; cd $D; ./bootstrap.sh demo",
			"/etc//eks/../eks/bootstrap.sh demo",
			"cd /tmp; echo '/etc/eks/bootstrap.sh demo' > join.sh; bash /tmp/join.sh",
			"echo '/etc/eks/bootstrap.sh demo' > join.sh; bash ./join.sh",
			"source /etc/eks/bootstrap.sh demo",
			"set -- demo\n. /etc/eks/bootstrap.sh",
			"setsid /etc/eks/bootstrap.sh demo",
			"setsid -w nice -n 10 ionice -c 2 -n 7 /etc/eks/bootstrap.sh demo",
			"flock /run/lock /etc/eks/bootstrap.sh demo",
			"flock -w 10 -n /run/lock -c '/etc/eks/bootstrap.sh demo'",
			"systemd-run --unit join -p Type=oneshot --wait /etc/eks/bootstrap.sh demo",
			"systemd-run --unit=join bash -c '/etc/eks/bootstrap.sh demo'",
			"su -c '/etc/eks/bootstrap.sh demo'",
			"su - root -c '/etc/eks/bootstrap.sh demo'",
			"su root --command='/etc/eks/bootstrap.sh demo'",
			"runuser -u root -- /etc/eks/bootstrap.sh demo",
			"echo demo | xargs /etc/eks/bootstrap.sh",
			"echo demo | xargs -t -I{} /etc/eks/bootstrap.sh {} --use-max-pods false",
			"command /etc/eks/bootstrap.sh demo",
			"T=$(cat /t); timeout -s KILL $T /etc/eks/bootstrap.sh demo",
			"stdbuf -oL /etc/eks/bootstrap.sh demo",
			"/usr/bin/time -v /etc/eks/bootstrap.sh demo",
			"sudo -u root --preserve-env /etc/eks/bootstrap.sh demo",
			"coproc /etc/eks/bootstrap.sh demo",
			"join() { /etc/eks/bootstrap.sh demo; }; export -f join; timeout 60 bash -c join",
			"echo '/etc/eks/bootstrap.sh demo' > /x; bash < /x",
		},
		open: {
			"unshare /etc/eks/bootstrap.sh demo",
			"chroot / /etc/eks/bootstrap.sh demo",
			"echo '/etc/eks/bootstrap.sh demo' | at now",
			"(crontab -l; echo '@reboot /etc/eks/bootstrap.sh demo') | crontab -",
			"trap '/etc/eks/bootstrap.sh demo' EXIT",
			"python3 -c \"import os; os.system('/etc/eks/bootstrap.sh demo')\"",
			"A=(/etc/eks/bootstrap.sh demo); \"${A[@]}\"",
			"cd $(dirname /etc/eks/bootstrap.sh); ./bootstrap.sh demo",
			"PATH=$PATH:/etc/eks; bootstrap.sh demo",
			"echo '/etc/eks/bootstrap.sh demo' > /x; unshare bash /x",
			"unshare nodeadm init -c file:///x",
			"printf '[Service]\\nExecStart=/etc/eks/bootstrap.sh demo' > /etc/systemd/system/join.service; systemctl start join",
			"echo '/etc/eks/bootstrap.sh demo' > /opt/join; echo 'ExecStart=/opt/join' > /etc/systemd/system/join.service; systemctl enable --now join",
			"echo '* * * * * root /etc/eks/bootstrap.sh demo' > /etc/cron.d/join",
			"cp /etc/eks/bootstrap.sh /root/join.sh; sed -i s/a/b/ /root/join.sh; /root/join.sh demo",
			"cd /etc/eks; ln -s /etc/eks/bootstrap.sh /opt; bash /opt/bootstrap.sh demo",
			"echo -e '#!/bin/bash\\n/etc/eks/bootstrap.sh demo' > /x; bash /x",
			"{ echo '#!/bin/sh'; echo '/etc/eks/bootstrap.sh demo'; } > /x; sh /x",
			"sudo -i <<'EOF'\n/etc/eks/bootstrap.sh demo\nEOF",
			"cat > /x.py <<'EOF'\nos.system('/etc/eks/bootstrap.sh demo')\nEOF\npython3 /x.py",
			"if cd /opt; then cd /etc/eks; fi; ./bootstrap.sh demo",
		},
		mentions: {
			"# /etc/eks/bootstrap.sh demo\nunshare date",
			"echo now call /etc/eks/bootstrap.sh demo; unshare date",
			"echo '/etc/eks/bootstrap.sh demo' > /root/notes",
			"echo '# not /etc/eks/bootstrap.sh demo' > /etc/cron.d/x",
			"logger -t x /etc/eks/bootstrap.sh demo",
			"test -x /etc/eks/bootstrap.sh; command -v /etc/eks/bootstrap.sh",
			"chmod +x /etc/eks/bootstrap.sh",
			"sed -i 's/a/b/' /etc/eks/bootstrap.sh",
			"curl -o /etc/eks/bootstrap.sh https://example.com/bootstrap.sh",
			"aws s3 cp s3://example/bootstrap.sh /etc/eks/bootstrap.sh",
			"join() { date; }; export -f join; bash -c join",
			"cp /etc/eks/bootstrap.sh /etc/eks/bootstrap.sh.old",
			"echo /etc/eks/bootstrap.sh; unshare date < /dev/null",
			"cd /opt/other && ./bootstrap.sh demo",
			"(cd /etc/eks); ./bootstrap.sh demo; cd /opt",
			"bash /opt/bootstrap.sh --cluster demo",
			"xargs -I{} echo {} < /etc/eks/bootstrap.sh",
			"su - ec2-user; su ec2-user -c date; flock 9; setsid; xargs",
		},
	} {
		for _, script := range scripts {
			b := Read([]byte("#!/bin/bash\n" + script + "\n"))
			_, got, _ := strings.Cut(found(b), ": ")
			expect.Equal(t, got, want, "%q", script)
		}
	}
}

func TestFormsInWhichPowerShellNamesTheScript(t *testing.T) {
	const (
		path                    = `C:\Program Files\Amazon\EKS\Start-EKSBootstrap.ps1`
		follows, open, mentions = "demo", "unclear", ""
	)
	tags := func(text string) string { return "<powershell>\n" + text + "\n</powershell>\n" }
	for want, texts := range map[string][]string{
		follows: {
			tags("(& '" + path + "' -EKSClusterName demo) 2>&1 | Out-File C:\\log.txt"),
			tags("$out = (& '" + path + "' -EKSClusterName demo)"),
			tags("$out = $(& '" + path + "' -EKSClusterName demo 2>&1)"),
			tags("if (& '" + path + "' -EKSClusterName demo) { date }"),
			tags("Invoke-Expression \"& '" + path + "' -EKSClusterName demo\""),
			tags("$f = '" + path + "'\niex -Command \"& `\"$f`\" -EKSClusterName demo\""),
			tags("powershell.exe -ExecutionPolicy Bypass -Command \"& '" + path + "' -EKSClusterName demo\""),
		},
		open: {
			tags("Start-Process powershell -Wait -ArgumentList \"-File `\"" + path + "`\" -EKSClusterName demo\""),
			tags("$f = '" + path + "'\nStart-Process -FilePath powershell.exe -ArgumentList '-File',$f,'demo'"),
			tags("& (Join-Path $dir 'Start-EKSBootstrap.ps1') -EKSClusterName demo"),
			tags("$text = @'\n& Start-EKSBootstrap.ps1 -EKSClusterName demo\n'@\nInvoke-Expression $text"),
			tags("cmd /c powershell -File \"" + path + "\" -EKSClusterName demo"),
			tags("[Diagnostics.Process]::Start('powershell', '-File " + path + " demo')"),
			"<script>\npowershell -File \"" + path + "\" -EKSClusterName demo\n</script>\n",
			"version: 1.0\ntasks:\n- task: executeScript\n  inputs:\n  - type: batch\n    content: powershell -File Start-EKSBootstrap.ps1 -EKSClusterName demo\n",
		},
		mentions: {
			tags("# " + path + "\nInvoke-Expression $env:SETUP"),
			tags("Write-Host (\"Start-EKSBootstrap.ps1\")\nthrow 'no Start-EKSBootstrap.ps1'"),
			tags("if (Test-Path '" + path + "') { Copy-Item '" + path + "' C:\\x }"),
			tags("$f = '" + path + "'\n(Get-Content $f) | Set-Content C:\\x"),
			"<script>\nrem powershell Start-EKSBootstrap.ps1\n@echo Start-EKSBootstrap.ps1\n</script>\n",
		},
	} {
		for _, text := range texts {
			_, got, _ := strings.Cut(found(Read([]byte(text))), ": ")
			expect.Equal(t, got, want, "%q", text)
		}
	}
}

// What names no tool where it joins for certain leaves the answer to what joins.
func TestAToolThatIsNamedBesideOneThatJoins(t *testing.T) {
	b := Read([]byte("#!/bin/bash\nunshare /etc/eks/bootstrap.sh other\n/etc/eks/bootstrap.sh demo\n"))
	expect.Equal(t, found(b), "shell: demo", "forms and clusters")
	b = Read([]byte(inMIME("text/x-sh", "#!/bin/bash\n/etc/eks/bootstrap.sh $NAME\n")))
	expect.Equal(t, found(b), "mime shell: unclear", "forms and clusters")
	b = Read([]byte(inMIME("text/x-sh", "#!/bin/bash\ndate\n")))
	expect.Equal(t, found(b), "mime shell: ", "forms and clusters")
}

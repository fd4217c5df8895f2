package collect

import "testing"

func TestFamilyOfAnAMI(t *testing.T) {
	for name, tt := range map[string]struct {
		alias, family, kubernetes string
		eks                       bool
	}{
		"amazon-eks-node-al2023-x86_64-standard-1.36-v20260714":                               {"amazon", "al2023", "1.36", true},
		"amazon-eks-node-al2023-arm64-nvidia-1.35-v20260625":                                  {"amazon", "al2023", "1.35", true},
		"amazon-eks-node-al2023-x86_64-neuron-1.34-v20260107":                                 {"amazon", "al2023", "1.34", true},
		"amazon-eks-node-1.29-v20240703":                                                      {"amazon", "al2", "1.29", true},
		"amazon-eks-arm64-node-1.24-v20230703":                                                {"amazon", "al2", "1.24", true},
		"amazon-eks-gpu-node-1.13-v20190814":                                                  {"amazon", "al2", "1.13", true},
		"bottlerocket-aws-k8s-1.33-x86_64-v1.46.0-431fe75a":                                   {"amazon", "bottlerocket", "1.33", true},
		"bottlerocket-aws-k8s-1.33-nvidia-fips-aarch64-v1.51.0-431fe75a":                      {"amazon", "bottlerocket", "1.33", true},
		"bottlerocket-aws-k8s-1.30-arm64-v2.0.1-def456":                                       {"amazon", "bottlerocket", "1.30", true},
		"eks-auto-standard-1.33-aarch64-20260101":                                             {"amazon", "bottlerocket", "1.33", true},
		"Windows_Server-2022-English-Core-EKS_Optimized-1.35-2026.02.11":                      {"amazon", "windows", "1.35", true},
		"Windows_Server-2025-English-Full-EKS_Optimized-1.36-2026.07.14":                      {"amazon", "windows", "1.36", true},
		"ubuntu-eks/k8s_1.33/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20250625":     {"", "ubuntu", "1.33", false},
		"ubuntu-eks-pro/k8s_1.33/images/hvm-ssd-gp3/ubuntu-noble-24.04-arm64-server-20250625": {"", "ubuntu", "1.33", false},
		"amazon-eks-node-al2023-x86_64-standard-1.36-v20260714 ":                              {"", "al2023", "1.36", false}, // a copy
		"al2023-ami-2023.6.20260101.0-kernel-6.1-x86_64":                                      {"amazon", "", "", false},
		"our-amazon-eks-node-1.29-v1":                                                         {"", "", "", false},
		"bottlerocket-aws-ecs-2-x86_64-v1.46.0-431fe75a":                                      {"amazon", "", "", false},
		"Windows_Server-2022-English-Full-Base-2026.02.11":                                    {"amazon", "", "", false},
		"": {"amazon", "", "", false},
	} {
		if family, kubernetes, eks := family(name, tt.alias); family != tt.family || kubernetes != tt.kubernetes || eks != tt.eks {
			t.Errorf("%s: got %q %q %v, want %q %q %v", name, family, kubernetes, eks, tt.family, tt.kubernetes, tt.eks)
		}
	}
}

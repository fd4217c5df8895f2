package roll

// Question is what should be read about one instance before its snapshot is
// assessed again. Each part costs a call, so only suspects are asked about.
type Question struct {
	Instance InstanceID
	// UserData: nothing else shows whether it is meant to be a node.
	UserData bool
	// AutoScaling: its state in its Auto Scaling group, and the group's protection
	// of it from scale-in.
	AutoScaling bool
	// Protection: it might be terminated; is EC2's termination protection on?
	Protection bool
}

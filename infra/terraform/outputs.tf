output "inspect_role_arn" {
  description = "Needs the group rollcall:viewers in every cluster."
  value       = aws_cloudformation_stack.rollcall.outputs["InspectRoleArn"]
}

output "remediate_role_arn" {
  description = "Needs the group rollcall:remediators in every cluster; empty unless the mode is remediate."
  value       = lookup(aws_cloudformation_stack.rollcall.outputs, "RemediateRoleArn", "")
}

output "outputs" {
  description = "All outputs of the stack."
  value       = aws_cloudformation_stack.rollcall.outputs
}

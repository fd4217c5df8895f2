# The deployment of template.yaml as a CloudFormation stack. It takes the template as packaged and transformed: see
# "An organization" in infra/README.md for how to make that.

resource "aws_cloudformation_stack" "rollcall" {
  name         = var.name
  template_url = var.template_url
  capabilities = ["CAPABILITY_IAM"]
  tags         = var.tags

  # A release takes its code from a bucket; a template of "sam package" names it already.
  parameters = merge(var.code_bucket == "" ? {} : { CodeBucket = var.code_bucket }, var.code_prefix == "" ? {} : { CodePrefix = var.code_prefix }, {
    Mode                     = var.mode
    PolicyParameter          = var.policy_parameter
    PolicyKeyArn             = var.policy_key_arn
    ChatApproval             = var.chat_approval
    WarnAfter                = var.warn_after
    Deadline                 = var.deadline
    SweepRate                = var.sweep_rate
    VpcIds                   = var.vpc_ids
    NotificationEmail        = var.notification_email
    LogRetentionDays         = var.log_retention_days
    EvidenceDays             = var.evidence_days
    KeepChecks               = var.keep_checks
    SubnetIds                = var.subnet_ids
    SecurityGroupIds         = var.security_group_ids
    PermissionsBoundaryArn   = var.permissions_boundary_arn
    RolePath                 = var.role_path
    ReadConsoleAndUserData   = var.read_console_and_user_data
    HostLogs                 = var.host_logs
    KmsKeyArn                = var.kms_key_arn
    ExistingTable            = var.existing_table
    ExistingBucket           = var.existing_bucket
    DetailedMetrics          = var.detailed_metrics
    TableDeletionProtection  = var.table_deletion_protection
    TablePointInTimeRecovery = var.table_point_in_time_recovery
    Tracing                  = var.tracing
    ReserveConcurrency       = var.reserve_concurrency
  })
}

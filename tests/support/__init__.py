"""What tests share: tiny encoders, toy tasks, made-up data and records, the command line, a Hub server."""

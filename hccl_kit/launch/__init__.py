"""From a rank table and a command to the files that start the job: a plan, and an emitter for each launcher."""

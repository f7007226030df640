export function outsideEnv(): NodeJS.ProcessEnv

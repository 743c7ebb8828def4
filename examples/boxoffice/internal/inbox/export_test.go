package inbox

// SendLook is how often a process looks whether it is to send.
const SendLook = sendLook

// Reading QR codes with the camera, where the browser can.

// canRead tells whether this browser has a camera for pages and reads QR codes.
export async function canRead() {
  if (!('BarcodeDetector' in globalThis) || !navigator.mediaDevices?.getUserMedia) return false;
  return (await globalThis.BarcodeDetector.getSupportedFormats()).includes('qr_code');
}

const PACE = 200; // ms between two looks
const AGAIN = 3000; // ms after which the same code counts as shown again

// Camera shows its picture in a video element and reports each code that it reads.
export class Camera {
  #video;
  #read;
  #stream = null;
  #timer = 0;

  constructor(video, read) {
    this.#video = video;
    this.#read = read;
  }

  get on() { return this.#stream !== null; }

  async start() {
    this.#stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } });
    this.#video.srcObject = this.#stream;
    await this.#video.play();
    const detector = new globalThis.BarcodeDetector({ formats: ['qr_code'] });
    let last = '';
    let seen = 0;
    const look = async () => {
      if (!this.on) return;
      const [found] = await detector.detect(this.#video).catch(() => []); // a frame that is not ready
      const code = found?.rawValue ?? '';
      if (code && (code !== last || Date.now() - seen > AGAIN)) {
        last = code;
        await this.#read(code);
      }
      if (code) seen = Date.now();
      if (this.on) this.#timer = setTimeout(look, PACE);
    };
    look();
  }

  stop() {
    clearTimeout(this.#timer);
    for (const track of this.#stream?.getTracks() ?? []) track.stop();
    this.#video.srcObject = null;
    this.#stream = null;
  }
}

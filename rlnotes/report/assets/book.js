// Equations that are wider than the page are made smaller, down to a limit; what still
// scrolls can be reached by keyboard; films stand still for those who want that.
const SMALLEST = 0.6;

function fitEquations() {
  for (const box of document.querySelectorAll("div.math mjx-container")) {
    box.dataset.size ??= box.style.fontSize; // MathJax has set one
    box.style.fontSize = box.dataset.size;
    const share = box.clientWidth / box.scrollWidth;
    if (share < 1) {
      const size = parseFloat(getComputedStyle(box).fontSize);
      box.style.fontSize = `${size * Math.max(share * 0.98, SMALLEST)}px`;
    }
  }
}

function letScroll() {
  const boxes = document.querySelectorAll(
    ".bd-content pre, .bd-content .output, div.math mjx-container",
  );
  for (const box of boxes) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
}

function fit() {
  fitEquations();
  letScroll();
}

window.addEventListener("load", () => {
  const typeset = window.MathJax?.startup?.promise ?? Promise.resolve();
  typeset.then(fit);
  window.addEventListener("resize", fit);
  if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
    for (const film of document.querySelectorAll("video")) film.pause();
  }
});
